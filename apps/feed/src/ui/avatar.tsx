import type { JSX } from 'preact'

export interface AvatarProps {
  /** Name for the initials. */
  readonly label: string
  readonly hue: number
  readonly shape?: 'person' | 'source'
}

/** A picture of initials on a colour. Screen readers skip it, because the name is always beside it. */
export function Avatar({ label, hue, shape = 'person' }: AvatarProps): JSX.Element {
  const round = shape === 'person'
  return (
    <svg class={`avatar ${shape}`} viewBox="0 0 40 40" aria-hidden="true" focusable="false">
      <rect width="40" height="40" fill={`hsl(${hue} 42% 37%)`} />
      {round ? (
        <circle cx="31" cy="7" r="14" fill={`hsl(${(hue + 40) % 360} 55% 58%)`} opacity="0.35" />
      ) : (
        <path d="M0 31 40 15v25H0z" fill={`hsl(${(hue + 40) % 360} 55% 58%)`} opacity="0.35" />
      )}
      <text x="20" y="25.6" text-anchor="middle" font-size="16" font-weight="600" fill="#fff">
        {initialsOf(label)}
      </text>
    </svg>
  )
}

/** Returns a hue from 0 to 359 that depends on the text alone. */
export function hueOf(text: string): number {
  let hash = 7
  for (let i = 0; i < text.length; i++) hash = (hash * 31 + text.charCodeAt(i)) % 360
  return hash
}

export function initialsOf(label: string): string {
  const words = label.split(/[\s\-_/.]+/).filter((word) => /[\p{L}\p{N}]/u.test(word))
  const first = firstLetter(words[0])
  const last = words.length > 1 ? firstLetter(words.at(-1)) : ''
  return `${first}${last}`.toUpperCase() || '?'
}

function firstLetter(word: string | undefined): string {
  return /[\p{L}\p{N}]/u.exec(word ?? '')?.[0] ?? ''
}
