import { createHash } from 'node:crypto'

/** The namespace of this site's UUIDs of version 5; another one would give every imported entry a second time. */
const NAMESPACE = Buffer.from('3d6c0e0e8f0b5d1e9a4c6f1b2a7d9e55', 'hex')

/**
 * The id of something that has a natural key: always the same for the same parts, so that whatever is written twice
 * is one entity. A UUIDv5. With `near`, the twelve bits that say where an entity lives are those of that id, so that
 * both stay on one shard; `near` has to be one of this site's own ids (version 5 or 7).
 */
export function derivedId(parts: readonly string[], near?: string): string {
  const hash = createHash('sha1').update(NAMESPACE).update(JSON.stringify(parts)).digest('hex')
  const place = near === undefined ? hash.slice(13, 16) : near.slice(15, 18)
  const variant = '89ab'[Number.parseInt(hash.charAt(16), 16) & 3] as string
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-5${place}-${variant}${hash.slice(17, 20)}-${hash.slice(20, 32)}`
}

/** One like for each person and entry, beside the entry. */
export function likeId(entryId: string, userId: string): string {
  return derivedId(['like', entryId, userId], entryId)
}

/** A source by the first of its names. */
export function sourceId(name: string): string {
  return derivedId(['source', name])
}

/** An imported entry by its source and the name that the feed gave it. Many are addresses, and sites move to https. */
export function importedEntryId(source: string, guid: string): string {
  return derivedId(['entry', source, guid.replace(/^https:\/\//i, 'http://')])
}
