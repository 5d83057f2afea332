/** How many rows the next page should have, so that the bodies of a page stay within bounds in memory. */
export interface PageSize {
  readonly limit: number
  /** Learns from the bodies of a page. */
  saw(bodies: readonly { readonly body: Uint8Array | null }[]): void
}

/** Bodies of one page, in bytes, about. */
const PAGE_BYTES = 8 * 1024 * 1024
/** The first page is small: nothing is known of the bodies yet. */
const FIRST = 64

export function createPageSize(max: number): PageSize {
  let limit = Math.min(FIRST, max)
  return {
    get limit() {
      return limit
    },
    saw(bodies) {
      if (bodies.length === 0) return
      let bytes = 0
      for (const { body } of bodies) bytes += body?.length ?? 0
      const fits = Math.floor(PAGE_BYTES / Math.max(1, bytes / bodies.length))
      // At most doubled, for the next bodies may be larger than these.
      limit = Math.max(1, Math.min(max, fits, limit * 2))
    },
  }
}
