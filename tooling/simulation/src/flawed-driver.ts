import type { EntityTable, IndexTable, Shard } from '@looseleaf/core'
import type { ReferenceShard } from '@looseleaf-tooling/reference-driver'

/** Something that a driver or a protocol could get wrong. A run with it has to tell. */
export type Flaw = 'upsert overwrites' | 'remove is unguarded' | 'replace is unguarded' | 'epoch is ignored'

export const flaws: readonly Flaw[] = [
  'upsert overwrites',
  'remove is unguarded',
  'replace is unguarded',
  'epoch is ignored',
]

/** A shard with the flaw, over one without. */
export function withFlaw(shard: ReferenceShard, flaw: Flaw | undefined): Shard {
  return {
    ...shard,
    entities: flawedEntities(shard, flaw),
    index: (spec) => flawedIndex(shard.index(spec), flaw),
  }
}

function flawedEntities(shard: ReferenceShard, flaw: Flaw | undefined): EntityTable {
  const { entities } = shard
  const epochOf = (epoch: number): number => (flaw === 'epoch is ignored' ? (shard.epoch() ?? epoch) : epoch)
  const versionOf = (id: Uint8Array): number | undefined =>
    entities.rows.find((row) => Buffer.compare(row.id, id) === 0)?.version
  return {
    ...entities,
    insert: (rows, options) => entities.insert(rows, { ...options, epoch: epochOf(options.epoch) }),
    replace: (rows, options) =>
      entities.replace(
        flaw === 'replace is unguarded'
          ? rows.map((row) => ({ ...row, base: versionOf(row.id) ?? row.base }))
          : rows,
        { ...options, epoch: epochOf(options.epoch) },
      ),
  }
}

function flawedIndex(table: IndexTable, flaw: Flaw | undefined): IndexTable {
  return {
    ...table,
    upsert(rows) {
      if (flaw === 'upsert overwrites') void table.remove(rows.map((row) => ({ ...row, before: Infinity })))
      return table.upsert(rows)
    },
    remove: (rows) =>
      table.remove(flaw === 'remove is unguarded' ? rows.map((row) => ({ ...row, before: Infinity })) : rows),
  }
}
