/** The X-rays of forms whose answers led to another page, each for the next page of its session. */
export interface FormXrays {
  /** `session`: the random word of a session. */
  keep(session: string, address: string): void
  /** Once; undefined where there is none. */
  take(session: string): string | undefined
}

/** Of people who never loaded the page that they were led to. */
const MOST = 100

export function createFormXrays(): FormXrays {
  const kept = new Map<string, string>()
  return {
    keep(session, address) {
      kept.delete(session)
      kept.set(session, address)
      if (kept.size > MOST) kept.delete(kept.keys().next().value as string)
    },
    take(session) {
      const address = kept.get(session)
      kept.delete(session)
      return address
    },
  }
}
