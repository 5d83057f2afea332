import { platformTime } from '@looseleaf/core'

/** In milliseconds: as often as a pager asks. */
const SERVES_MS = 60_000

/** Reads something, and answers what it read last for a minute, unless that was not well: a repair shows at the next look. */
export function keptWhileWell<In, Out>(
  read: (from: In) => Promise<Out>,
  isWell: (out: Out) => boolean,
): (from: In) => Promise<Out> {
  let kept: { readonly out: Out; readonly until: number } | undefined
  return async (from) => {
    if (kept !== undefined && platformTime.elapsed() < kept.until) return kept.out
    const out = await read(from)
    kept = isWell(out) ? { out, until: platformTime.elapsed() + SERVES_MS } : undefined
    return out
  }
}
