import { MAX_MEDIA, type Media } from './parsed-feed.ts'
import { webLink } from '../../text/web-link.ts'

/** A file that belongs to an item, as its format has it. */
export interface RawMedia {
  readonly url?: string | undefined
  /** MIME type, or only its first part. */
  readonly type?: string | undefined
}

/** Types by the endings of paths, for files without a MIME type. */
const ENDINGS: readonly (readonly [pattern: RegExp, type: Media['type']])[] = [
  [/\.(?:avif|gif|jpe?g|png|svg|webp)$/i, 'image'],
  [/\.(?:aac|flac|m4a|mp3|oga|ogg|opus|wav)$/i, 'audio'],
  [/\.(?:m4v|mov|mp4|mpe?g|ogv|webm)$/i, 'video'],
]

/** Returns the files with web addresses, each address once, up to `MAX_MEDIA`. */
export function tidyMedia(raw: readonly RawMedia[], base: string | undefined): readonly Media[] {
  const found = new Map<string, Media>()
  for (const { url, type } of raw) {
    const address = webLink(url, base)
    if (address === undefined || found.has(address)) continue
    if (found.size === MAX_MEDIA) break
    found.set(address, { url: address, type: typeOf(address, type) })
  }
  return [...found.values()]
}

function typeOf(url: string, type: string | undefined): Media['type'] {
  const declared = /^\s*(image|audio|video)\b/i.exec(type ?? '')?.[1]?.toLowerCase()
  if (declared !== undefined) return declared as Media['type']
  const { pathname } = new URL(url)
  return ENDINGS.find(([pattern]) => pattern.test(pathname))?.[1] ?? 'file'
}

/** Returns the name of a file in its address, for people. */
export function fileName(url: string): string {
  const { hostname, pathname } = new URL(url)
  const name = pathname.slice(pathname.lastIndexOf('/') + 1)
  try {
    return decodeURIComponent(name) || hostname
  } catch {
    return name
  }
}
