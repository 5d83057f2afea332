import type { CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine'
import { loadRuns, type RunRecord } from '../clean/run-record.ts'
import { cleanableIndexes } from '../pass/index-target.ts'

/** Whether every index of the store was cleaned by a run that began at this time or later, in milliseconds since 1970, and has ended. */
export async function isSweptSince(
  context: EngineContext,
  since: number,
  options: CallOptions,
): Promise<boolean> {
  const tables = cleanableIndexes(context).map(({ table }) => table)
  if (tables.length === 0) return true
  const records = await loadRuns(context, tables, options)
  return tables.every((table) => {
    const record = records.get(table)
    return record?.state === 'done' && hasBegunSince(record, since)
  })
}

/** Whether a run began at this time or later; false for a run that never was. */
export function hasBegunSince(record: RunRecord | undefined, since: number): boolean {
  return record !== undefined && record.startedAt >= since
}
