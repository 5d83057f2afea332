import { platformTime } from '@looseleaf/core/internal'
import type { ProbeShards, ReadBodies } from './read-facts.ts'

/** Lifetime of a cached result in milliseconds: the usual interval of a pager. */
const LIFETIME_MS = 60_000

/**
 * Caches a sample of bodies for a minute, because decoding is most of the work of a look and the result seldom changes. A
 * sample with a problem or a silent shard is not cached, so a repair shows in the next look.
 */
export function cachedBodies(read: ReadBodies): ReadBodies {
  return cachedWhileWell(
    read,
    (look) => look !== undefined && look.isWhole && look.broken.length === 0 && look.undecodable === 0,
  )
}

/** Caches probes for a minute, so that a look every two seconds writes once a minute. Does not cache a refused probe. */
export function cachedProbes(probe: ProbeShards): ProbeShards {
  return cachedWhileWell(probe, (probes) => probes.every(({ error }) => error === undefined))
}

function cachedWhileWell<In, Out>(
  read: (from: In) => Promise<Out>,
  isWell: (out: Out) => boolean,
): (from: In) => Promise<Out> {
  let kept: { readonly out: Out; readonly until: number } | undefined
  return async (from) => {
    if (kept !== undefined && platformTime.elapsed() < kept.until) return kept.out
    const out = await read(from)
    kept = isWell(out) ? { out, until: platformTime.elapsed() + LIFETIME_MS } : undefined
    return out
  }
}
