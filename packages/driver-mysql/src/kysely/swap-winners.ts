/** What one row of a compare-and-swap tried, and what stands there after it. */
export interface SwapTry {
  /** The version that the swap would have written. */
  readonly version: number
  /** The version that was read back; 0 where there is no row. */
  readonly found: number
}

/**
 * Which rows a compare-and-swap changed, by the number that it changed and the versions read back after it.
 *
 * Versions of a row only grow. So a row with the version that was written has been changed; one with a lower version,
 * or none, has not; one with a greater version may have been changed and then again by somebody else.
 * Undefined when the number does not settle that last case.
 */
export function swapWinners(tries: readonly SwapTry[], changed: number): readonly boolean[] | undefined {
  const sure = tries.filter(({ found, version }) => found === version).length
  const unsure = tries.filter(({ found, version }) => found > version).length
  if (changed === sure) return tries.map(({ found, version }) => found === version)
  if (changed === sure + unsure) return tries.map(({ found, version }) => found >= version)
  return undefined
}
