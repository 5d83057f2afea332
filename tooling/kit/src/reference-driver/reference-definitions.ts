import type { DefinitionTable, StoredDefinition } from '@looseleaf/core/internal'

export interface ReferenceDefinitions extends DefinitionTable {
  /** By id. Tests may remove some, like a failover. */
  readonly rows: Map<string, StoredDefinition>
}

export function createReferenceDefinitions(now: () => number): ReferenceDefinitions {
  const rows = new Map<string, StoredDefinition>()
  return {
    rows,
    all: async () => [...rows.values()],
    read: async (ids) => [...rows.values()].filter(({ id }) => ids.includes(id)),
    async add(definitions) {
      for (const one of definitions) if (!rows.has(one.id)) rows.set(one.id, { ...one, added: now() })
    },
  }
}
