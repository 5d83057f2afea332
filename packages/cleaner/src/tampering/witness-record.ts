import type { CallOptions, Shard } from '@looseleaf/core'
import { countIn, parseObject } from '@looseleaf/core/internal'
import { editTask, type IndexPlace } from '@looseleaf/protocol/internal'
import { placeFromText, placeToText } from '../clean/place-text.ts'

/** The witnesses of an index table on a shard, stored on that shard. */
export interface WitnessRecord {
  /** Rows that the table had at the last look. */
  readonly places: readonly IndexPlace[]
  /** Time at which the table was last found emptied, in milliseconds since 1970 by the clock of the process; 0 if never. */
  readonly lostAt: number
}

export function witnessTask(table: string): string {
  return `witness/${table}`
}

export async function loadWitnesses(
  { tasks }: Shard,
  tables: readonly string[],
  options: CallOptions,
): Promise<ReadonlyMap<string, WitnessRecord>> {
  const states = await tasks.loadAll(tables.map(witnessTask), options)
  return new Map(tables.map((table) => [table, fromText(states.get(witnessTask(table))?.progress ?? '')]))
}

/** Saves the witnesses of a table. Does nothing while another process saves them. */
export async function saveWitnesses(
  { tasks }: Shard,
  table: string,
  { places, lostAt }: WitnessRecord,
  owner: string,
  options: CallOptions,
): Promise<void> {
  const text = JSON.stringify({ places: places.map(placeToText), lostAt })
  await editTask(tasks, witnessTask(table), () => text, { owner, ...options })
}

function fromText(text: string): WitnessRecord {
  const value = parseObject(text) ?? {}
  const { places } = value
  const texts: readonly unknown[] = Array.isArray(places) ? places : []
  return {
    places: texts.flatMap((place) => (typeof place === 'string' ? (placeFromText(place) ?? []) : [])),
    lostAt: countIn(value, 'lostAt'),
  }
}
