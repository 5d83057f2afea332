import { checkStore } from '@looseleaf/protocol'
import { checkNames } from '../pass/check-names.ts'
import type { IndexName } from '../pass/index-target.ts'
import type { CleanerStore } from '../pass/cleaner-store.ts'
import { cleanIndex, cleanOptionKinds, type CleanOptions, type CleanResult } from './clean-index.ts'
import type { CleanProgress } from './progress.ts'

/** As for `cleanIndex`, but for `onProgress`: the loop is told. */
export type CleaningOptions = Omit<CleanOptions, 'onProgress'>

const { onProgress: _, ...cleaningOptionKinds } = cleanOptionKinds

/**
 * As `cleanIndex`, with its progress as an async iterator: `for await (const progress of cleaning(store, 'by_user')) …`.
 * The work begins with the loop and goes on while the loop's body is busy, whatever that takes; of what was told meanwhile the
 * last word of each shard and phase is kept. Leaving the loop ends the work at the next page, and what was done stays done:
 * the next call goes on from there. Errors of the work end the loop. What the iterator returns is the result.
 */
export function cleaning(
  store: CleanerStore,
  names?: IndexName | readonly IndexName[],
  options: CleaningOptions = {},
): AsyncGenerator<CleanProgress, CleanResult, undefined> {
  checkStore('cleaning', store, options, cleaningOptionKinds)
  checkNames('cleaning', names)
  return tellProgress(store, names, options)
}

async function* tellProgress(
  store: CleanerStore,
  names: IndexName | readonly IndexName[] | undefined,
  options: CleaningOptions,
): AsyncGenerator<CleanProgress, CleanResult, undefined> {
  const left = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, left.signal]) : left.signal
  /** By shard and phase, in the order in which they were told first. */
  const untold = new Map<string, CleanProgress>()
  let news = Promise.withResolvers<void>()
  let ended = false
  const work = cleanIndex(store, names, {
    ...options,
    signal,
    onProgress(progress) {
      untold.set(`${progress.phase} ${progress.shard}`, progress)
      news.resolve()
    },
  }).finally(() => {
    ended = true
    news.resolve()
  })
  // It is awaited below; until then nobody is to be told that nobody does.
  work.catch(() => undefined)
  try {
    for (;;) {
      await news.promise
      news = Promise.withResolvers<void>()
      for (const [key, progress] of untold) {
        untold.delete(key)
        yield progress
      }
      if (ended && untold.size === 0) return await work
      if (ended) news.resolve()
    }
  } finally {
    left.abort()
    // What was done is saved before anybody goes on, for the next call to begin there.
    await work.catch(() => undefined)
  }
}
