import type { BatchRow, EntityInsert } from '@looseleaf/core/internal'

/** A call of a driver, as a plan of faults gets it. */
interface DriverCall {
  readonly table: string
  readonly operation: string
  readonly args: readonly unknown[]
}

/** Tells whether a call upserts index rows of this table, by themselves or with their entities. Default: of any table. */
export function upsertsRows({ table, operation, args }: DriverCall, of?: string): boolean {
  if (operation === 'upsert') return of === undefined || table === of
  if (table !== 'entities' || !['insert', 'replace', 'writeAll'].includes(operation)) return false
  const [entities] = args as [readonly (EntityInsert | BatchRow)[]]
  return entities.some(
    (entity) =>
      entity.version !== undefined &&
      entity.local?.upsert?.some(({ spec }) => of === undefined || spec.table === of),
  )
}
