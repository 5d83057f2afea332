import { platformTime } from '@looseleaf/core/internal'

/** Lifetime of a cached result in milliseconds: the usual interval of a pager. */
const LIFETIME_MS = 60_000

/** Caches the result of `read` for a minute while `isWell` accepts it. A repair of a problem thus shows in the next look. */
export function cachedWhileWell<In, Out>(
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
