/**
 * Runs parts of a piece of work concurrently. Each gets a signal that fires when the caller's signal does, or when another part fails. Waits
 * until all parts have ended, then throws the first error.
 */
export async function untilOneFails(
  signal: AbortSignal | undefined,
  parts: readonly ((signal: AbortSignal) => Promise<void>)[],
): Promise<void> {
  const failure = new AbortController()
  const either = signal === undefined ? failure.signal : AbortSignal.any([signal, failure.signal])
  let first: { readonly error: unknown } | undefined
  await Promise.all(
    parts.map(async (part) => {
      try {
        await part(either)
      } catch (error) {
        first ??= { error }
        failure.abort(error)
      }
    }),
  )
  if (first !== undefined) throw first.error
}
