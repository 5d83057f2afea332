/**
 * Runs parts of one work at the same time, each with a signal that fires when the caller's does or when another part has
 * failed. Waits until all have stopped, then throws the first failure.
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
