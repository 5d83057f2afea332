import { unchanged, type Bag, type DataStore } from 'looseleaf'

/** Indexes of a version of the site without kinds. Its entities had a property `kind` instead. */
const OLD_INDEXES: readonly string[] = [
  'entries_by_time',
  'entries_by_user',
  'entries_by_source',
  'entries_by_link',
  'comments_by_entry',
  'comments_by_user',
  'likes_by_entry',
  'likes_by_user',
  'people_by_name',
  'people_by_time',
  'sources_by_time',
  'sources_by_user',
  'sources_by_name',
  'imports_by_user',
  'brought_by_import',
  'sessions_by_user',
]

/** Concurrent writes. */
const CHUNK = 200

/** Converts entities of an earlier version to kinds. Drops the old indexes last, so that an interrupted run starts again. */
export async function upgradeOldData(store: DataStore): Promise<void> {
  const old = (await store.indexes()).filter(({ name }) => OLD_INDEXES.includes(name))
  if (old.length === 0) return
  let writes: Promise<unknown>[] = []
  for await (const { id, kind } of store.scan()) {
    if (kind !== undefined) writes.push(store.update(id, withKind))
    if (writes.length < CHUNK) continue
    await Promise.all(writes)
    writes = []
  }
  await Promise.all(writes)
  for (const { name } of old) await store.dropIndex(name)
}

function withKind({ kind, name_of_setting: name, notice: _, ...bag }: Bag): Bag | typeof unchanged {
  if (kind === undefined) return unchanged
  return { ...bag, ...(name !== undefined && { name }), _kind: kind }
}
