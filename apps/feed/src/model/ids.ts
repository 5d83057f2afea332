import { deriveId } from 'looseleaf'

/** One like for each person and entry, beside the entry. */
export function likeId(entryId: string, userId: string): string {
  return deriveId('like', [entryId, userId], { near: entryId })
}

/** A source by the first of its names. */
export function sourceId(name: string): string {
  return deriveId('source', name)
}

/** An imported entry by its source and the name that the feed gave it. Many are addresses, and sites move to https. */
export function importedEntryId(source: string, guid: string): string {
  return deriveId('entry', [source, guid.replace(/^https:\/\//i, 'http://')])
}
