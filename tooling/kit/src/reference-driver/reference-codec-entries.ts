import type { CodecEntryTable, StoredCodecEntry } from '@looseleaf/core/internal'

export interface ReferenceCodecEntries extends CodecEntryTable {
  /** By id. Tests may remove some, like a failover. */
  readonly rows: Map<string, StoredCodecEntry>
}

export function createReferenceCodecEntries(now: () => number): ReferenceCodecEntries {
  const rows = new Map<string, StoredCodecEntry>()
  return {
    rows,
    all: async () => [...rows.values()],
    read: async (ids) => [...rows.values()].filter(({ id }) => ids.includes(id)),
    async add(definitions) {
      for (const one of definitions) if (!rows.has(one.id)) rows.set(one.id, { ...one, added: now() })
    },
  }
}
