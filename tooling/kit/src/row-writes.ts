import type { EntityInsert } from '@looseleaf/core/internal'

/** A call of a driver, as a plan of faults gets it. */
interface DriverCall {
  readonly table: string
  readonly operation: string
  readonly args: readonly unknown[]
}

/** Tells whether a call upserts index rows of this table, by themselves or with their entities. Default: of any table. */
export function upsertsRows({ table, operation, args }: DriverCall, of?: string): boolean {
  if (operation === 'upsert') return of === undefined || table === of
  if (table !== 'entities' || (operation !== 'insert' && operation !== 'replace')) return false
  const [entities] = args as [readonly EntityInsert[]]
  return entities.some(({ local }) =>
    local?.upsert?.some(({ spec }) => of === undefined || spec.table === of),
  )
}
