import type { ChangesRecord } from './changes-records.ts'

/** Changes that the processes of one consumer have handled. */
export interface ConsumerHistory {
  readonly consumer: string
  readonly processes: readonly {
    readonly records: readonly ChangesRecord[]
    /**
     * True if the process was stopped for longer than its lease. Changes that it held then come late; their
     * versions tell the effects so.
     */
    readonly wasPaused: boolean
  }[]
}

/** State that a consumer has built from the changes; an older version changes nothing. */
export interface Effects {
  /** The last version of each entity. */
  readonly versions: ReadonlyMap<string, number>
  readonly handled: number
  /** Changes that were handled again, with the same version. */
  readonly again: number
  /** Older versions that processes delivered after newer ones because they had been paused. */
  readonly late: number
  readonly afterMs: readonly number[]
  /** Errors of shards, by code. */
  readonly errors: Readonly<Record<string, number>>
  readonly wrongs: readonly string[]
}

export function effectsOf({ consumer, processes }: ConsumerHistory): Effects {
  const wrongs: string[] = []
  const errors: Record<string, number> = {}
  const all = processes
    .flatMap(({ records, wasPaused }) =>
      records.flatMap((record) => {
        if (record.kind === 'handled') return [{ ...record, wasPaused }]
        if (record.kind === 'wrong') wrongs.push(`${consumer}: ${record.message}`)
        else errors[record.code] = (errors[record.code] ?? 0) + 1
        return []
      }),
    )
    .toSorted((a, b) => a.at - b.at)
  const versions = new Map<string, number>()
  let [again, late] = [0, 0]
  for (const { id, version, wasPaused } of all) {
    const known = versions.get(id) ?? 0
    if (version > known) versions.set(id, version)
    else if (version === known) again++
    else if (wasPaused) late++
    else wrongs.push(`${consumer}: ${id} at version ${version} was handled after ${known}`)
  }
  const afterMs = all.map((record) => record.afterMs)
  return { versions, handled: all.length, again, late, afterMs, errors, wrongs }
}

/** Returns the entities whose last state the consumer does not have. */
export function missed(
  { versions }: Pick<Effects, 'versions'>,
  stored: ReadonlyMap<string, number>,
): readonly string[] {
  return [...stored].filter(([id, version]) => versions.get(id) !== version).map(([id]) => id)
}
