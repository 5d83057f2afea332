import { deriveId } from 'looseleaf'

/** Returns the id of a person's like of an entry. It is on the shard of the entry, and the same for a second like. */
export function likeId(entryId: string, personId: string): string {
  return deriveId('like', [entryId, personId], { near: entryId })
}

/** Returns the id of a source, derived from the first of its names. */
export function sourceId(name: string): string {
  return deriveId('source', name)
}

/** Returns the id of an imported entry, derived from its source and its guid. Guids that are addresses stay the same after a move to https. */
export function importedEntryId(source: string, guid: string): string {
  return deriveId('entry', [source, guid.replace(/^https:\/\//i, 'http://')])
}
