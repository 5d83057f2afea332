import type { ShardProbe } from '@looseleaf/store/internal'
import type { Invocation } from '../running/invocation.ts'
import { cachedWhileWell } from './cached-while-well.ts'

/** Writes a small row on each shard and returns the results. */
export type ProbeShards = (invocation: Invocation) => Promise<readonly ShardProbe[]>

/** Caches probes for a minute, so that a look every two seconds writes once a minute. Does not cache a refused probe. */
export function cachedProbes(probe: ProbeShards): ProbeShards {
  return cachedWhileWell(probe, (probes) => probes.every(({ error }) => error === undefined))
}
