/**
 * Returns a reading that callers share. Each call gets a reading that starts after it, because one in flight may have missed a change that
 * the caller knows of. Calls during a reading share the next one.
 */
export function createSharedReading<T>(read: () => Promise<T>): () => Promise<T> {
  let reading: Promise<T> | undefined
  let next: Promise<T> | undefined

  function begin(): Promise<T> {
    next = undefined
    reading = read().finally(() => {
      reading = undefined
    })
    return reading
  }

  return () => {
    if (reading !== undefined) next ??= reading.then(begin, begin)
    return next ?? begin()
  }
}
