/** Keeps the X-ray of a form that redirects, for the next page of its session. */
export interface FormXrays {
  /** Keeps an address for a session, by its nonce. Replaces an earlier one. */
  keep(session: string, address: string): void
  /** Returns and forgets the address for a session; undefined if there is none. */
  take(session: string): string | undefined
}

/** Bound for sessions that never load the page after the redirect. The oldest is forgotten. */
const MAX_SESSIONS = 100

export function createFormXrays(): FormXrays {
  const kept = new Map<string, string>()
  return {
    keep(session, address) {
      kept.delete(session)
      kept.set(session, address)
      if (kept.size > MAX_SESSIONS) kept.delete(kept.keys().next().value as string)
    },
    take(session) {
      const address = kept.get(session)
      kept.delete(session)
      return address
    },
  }
}
