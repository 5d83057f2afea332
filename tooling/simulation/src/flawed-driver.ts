import type { EntityInsert, EntityReplace, EntityTable, IndexRow, IndexTable, Shard } from '@looseleaf/core'
import type { ReferenceIndex, ReferenceShard } from '@looseleaf-tooling/reference-driver'
import type { Flaw } from './flaws.ts'

/** A shard with the flaw, over one without. */
export function withFlaw(shard: ReferenceShard, flaw: Flaw | undefined): Shard {
  return {
    ...shard,
    entities: flawedEntities(shard, flaw),
    index: (spec) => flawedIndex(shard.index(spec), flaw),
  }
}

/** What of a shard fails over. */
export function failingOver(
  shard: ReferenceShard,
  flaw: Flaw | undefined,
): Pick<ReferenceShard, 'state' | 'fallBack'> {
  if (flaw !== 'pending rows stay behind') return shard
  return {
    ...shard,
    fallBack(state, what) {
      const { rows } = shard.pending
      shard.fallBack(state, what)
      shard.pending.restore(rows)
    },
  }
}

function flawedEntities(shard: ReferenceShard, flaw: Flaw | undefined): EntityTable {
  const { entities } = shard
  const epochOf = (epoch: number): number =>
    flaw === 'epoch is ignored' ? (shard.contents()?.epoch ?? epoch) : epoch
  /** A fence leaves the body as it is, or a tombstone where there is nothing. */
  const isFence = (row: { readonly id: Uint8Array; readonly body: Uint8Array | null }): boolean => {
    const body = entities.current(row.id)?.body ?? null
    return body === null || row.body === null ? body === row.body : Buffer.compare(body, row.body) === 0
  }
  const unguarded = (row: EntityInsert): EntityReplace => ({
    ...row,
    base: entities.current(row.id)?.version ?? 0,
  })
  const inserted = new Set<string>()
  const nameOf = ({ id, version }: EntityInsert): string => `${Buffer.from(id).toString('hex')} ${version}`
  const wasInserted = (row: EntityInsert): boolean => inserted.has(nameOf(row))
  return {
    ...entities,
    async insert(rows, options) {
      if (flaw === 'fences do nothing' && rows.every(isFence)) return
      if (flaw === 'inserts may be repeated' && rows.every(wasInserted)) {
        await entities.replace(rows.map(unguarded), options)
        return
      }
      await entities.insert(rows, { ...options, epoch: epochOf(options.epoch) })
      for (const row of rows) inserted.add(nameOf(row))
    },
    async replace(rows, options) {
      if (flaw === 'fences do nothing' && rows.every(isFence)) return rows.map(() => true)
      return entities.replace(flaw === 'replace is unguarded' ? rows.map(unguarded) : rows, {
        ...options,
        epoch: epochOf(options.epoch),
      })
    },
  }
}

/** What an upsert answers, with the flaw, that has changed nothing: nobody waits for the disk. */
export const UNCHANGED = Symbol('unchanged')

function flawedIndex(table: ReferenceIndex, flaw: Flaw | undefined): IndexTable {
  const isThere = ({ key, entityId, version }: IndexRow): boolean =>
    (table.versionOf(key, entityId) ?? 0) >= version
  return {
    ...table,
    async upsert(rows) {
      if (flaw === 'upsert that changes nothing without a flush' && rows.every(isThere))
        return UNCHANGED as unknown as undefined
      if (flaw === 'upsert overwrites') {
        const all = rows.map((row) => ({ ...row, before: Infinity }))
        table.remove(all).catch(() => undefined)
      }
      return table.upsert(rows)
    },
    remove: (rows) =>
      table.remove(flaw === 'remove is unguarded' ? rows.map((row) => ({ ...row, before: Infinity })) : rows),
  }
}
