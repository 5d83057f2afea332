import type { ShardProbe } from '@looseleaf/store'
import type { Session } from '../session.ts'
import { keptWhileWell } from './kept-while-well.ts'

/** Writes a small row on each shard, and answers how each has taken it. */
export type ProbeShards = (session: Session) => Promise<readonly ShardProbe[]>

/** Probes serve for a minute, so that a look every two seconds writes once a minute; unless a shard has refused one. */
export function keptProbes(probe: ProbeShards): ProbeShards {
  return keptWhileWell(probe, (probes) => probes.every(({ error }) => error === undefined))
}
