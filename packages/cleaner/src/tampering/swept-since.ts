import type { CallOptions } from '@looseleaf/core'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { loadRuns, type RunRecord } from '../clean/run-record.ts'
import { cleanableIndexes } from '../pass/index-target.ts'

/** Tells whether every index was cleaned by a complete run that began at this time (milliseconds since 1970) or later. */
export async function isSweptSince(
  context: EngineContext,
  since: number,
  options: CallOptions,
): Promise<boolean> {
  const tables = cleanableIndexes(context).map(({ table }) => table)
  const records = await loadRuns(context, tables, options)
  return tables.every((table) => {
    const record = records.get(table)
    return record?.state === 'done' && hasBegunSince(record, since)
  })
}

/** Tells whether a run began at this time or later; false without a run. */
export function hasBegunSince(record: RunRecord | undefined, since: number): boolean {
  return record !== undefined && record.startedAt >= since
}
