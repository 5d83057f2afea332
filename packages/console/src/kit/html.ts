/** Marks a text as HTML, which `markup` does not escape. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | undefined | readonly Part[]

/** Builds HTML. Escapes all inserted values except `Html`, joins lists, and leaves out undefined. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.map((string, i) => string + (i < parts.length ? textOf(parts[i]) : '')).join(''))
}

function textOf(part: Part): string {
  if (part === undefined) return ''
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(textOf).join('')
  return String(part).replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`)
}
