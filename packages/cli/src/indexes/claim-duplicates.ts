import { readCleanerReport } from '@looseleaf/cleaner'
import { counted, type CatalogEntry } from '@looseleaf/core/internal'
import type { Invocation } from '../running/invocation.ts'
import { reportOf } from './index-table.ts'

/** Returns for each entry of claims how many entities had a key of another entity in its last cleaning. */
export async function countDuplicates(
  invocation: Invocation,
  claims: readonly CatalogEntry[],
): Promise<ReadonlyMap<CatalogEntry, number>> {
  if (claims.length === 0) return new Map()
  const report = await readCleanerReport(await invocation.openStore(), { signal: invocation.signal })
  return new Map(claims.map((entry) => [entry, reportOf(report, entry)?.lastRun?.tally.duplicates ?? 0]))
}

/**
 * Returns a sentence without its subject: duplicates keep a filled unique index from becoming ready. It names the command that lists
 * them, and `command`, which makes the index ready after they are resolved.
 */
export function duplicatesText(name: string, duplicates: number, command: string, result: string): string {
  return `is filled, but ${counted(duplicates, 'entity has a key', 'entities have a key')} that another entity has claimed: ${result}. List the entities with: looseleaf index violations ${name}. Change or delete one entity of each pair, then run: ${command}`
}
