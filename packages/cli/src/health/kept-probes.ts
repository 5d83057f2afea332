import { platformTime } from '@looseleaf/core'
import type { ShardProbe } from '@looseleaf/store'
import type { Session } from '../session.ts'

/** Writes a small row on each shard, and answers how each has taken it. */
export type ProbeShards = (session: Session) => Promise<readonly ShardProbe[]>

/** In milliseconds: as often as a pager asks. */
const SERVES_MS = 60_000

/** Probes serve for a minute, so that a look every two seconds writes once a minute; unless a shard has refused one. */
export function keptProbes(probe: ProbeShards): ProbeShards {
  let kept: readonly ShardProbe[] | undefined
  let keptUntil = 0
  return async (session) => {
    if (kept !== undefined && platformTime.elapsed() < keptUntil) return kept
    const probes = await probe(session)
    kept = probes.every(({ error }) => error === undefined) ? probes : undefined
    keptUntil = platformTime.elapsed() + SERVES_MS
    return probes
  }
}
