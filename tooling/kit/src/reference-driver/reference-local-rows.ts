import { LooseleafError } from '@looseleaf/core'
import type { EntityInsert, IndexTableSpec } from '@looseleaf/core/internal'
import type { ReferenceIndex } from './reference-index.ts'

/** Writes `local` rows. No other call comes between these steps, so they are one transaction. */
export interface ReferenceLocalRows {
  /** Throws `INDEX_NOT_FOUND` if a table is missing, and `DUPLICATE_KEY` if a claim belongs to another entity. */
  check(entities: readonly EntityInsert[]): void
  /** Takes the claims and upserts the rows. */
  write(entities: readonly EntityInsert[]): void
  /** Deletes what the entities have lost, if they were written. */
  remove(winners: readonly EntityInsert[]): void
}

export function createReferenceLocalRows(
  shard: string,
  index: (spec: IndexTableSpec) => ReferenceIndex,
): ReferenceLocalRows {
  function checkTable(spec: IndexTableSpec): void {
    if (index(spec).state() === undefined)
      throw new LooseleafError('INDEX_NOT_FOUND', `${shard} has no table ${spec.table}.`, { shard })
  }

  /** The tables were checked, so no call rejects. */
  const run = (call: Promise<unknown>): void => void call

  return {
    check(entities) {
      const wanted = new Map<string, Uint8Array>()
      for (const { id, local: { upsert = [], claims = [], remove = [] } = {} } of entities) {
        for (const { spec } of [...upsert, ...claims, ...remove]) checkTable(spec)
        for (const { spec, rows } of claims) {
          for (const { key } of rows) {
            const name = [
              spec.table,
              ...key.map((value) => Buffer.from(String(value)).toString('hex')),
            ].join()
            const holder = index(spec).claimOf(key)?.entityId ?? wanted.get(name) ?? id
            wanted.set(name, id)
            if (Buffer.compare(holder, id) === 0) continue
            const message = `${shard}: another entity has a claim in ${spec.table}.`
            throw new LooseleafError('DUPLICATE_KEY', message, { shard })
          }
        }
      }
    },
    write(entities) {
      for (const { local } of entities) {
        for (const { spec, rows } of local?.claims ?? []) run(index(spec).claims.take(rows))
        for (const { spec, rows } of local?.upsert ?? []) run(index(spec).upsert(rows))
      }
    },
    remove(winners) {
      for (const { id, version, local } of winners) {
        for (const { spec, rows } of local?.remove ?? [])
          run(index(spec).remove(rows.map(({ key }) => ({ key, entityId: id, before: version }))))
      }
    },
  }
}
