import { checkStore, type AnyStore } from '@looseleaf/protocol/internal'
import { checkNames } from '../pass/check-names.ts'
import type { IndexName } from '../pass/index-target.ts'
import type { Tuned } from '../pass/tuning.ts'
import { tunedCleanIndex, cleanOptionKinds, type CleanOptions, type CleanResult } from './clean-index.ts'
import type { CleanProgress } from './progress.ts'

/** Options of `cleanIndex` without `onProgress`, which the loop replaces. */
export type CleaningOptions = Omit<CleanOptions, 'onProgress'>

const { onProgress: _, ...cleaningOptionKinds } = cleanOptionKinds

/**
 * Runs `cleanIndex` and yields its progress: `for await (const progress of cleaning(store, 'by_user')) …`. The work begins with the loop, and
 * continues while the loop's body runs; a slow loop gets only the latest progress of each shard and phase. Leaving the loop stops the work
 * after the current page, and the next call resumes there. Errors of the work end the loop. The iterator returns the result of `cleanIndex`.
 */
export function cleaning(
  store: AnyStore,
  names?: IndexName | readonly IndexName[],
  options: CleaningOptions = {},
): AsyncGenerator<CleanProgress, CleanResult, undefined> {
  checkStore('cleaning', store, options, cleaningOptionKinds)
  checkNames('cleaning', names)
  return tunedCleaning(store, names, options)
}

/** As `cleaning`, with a tuning, and without a check of the options. */
export async function* tunedCleaning(
  store: AnyStore,
  names?: IndexName | readonly IndexName[],
  options: Tuned<CleaningOptions> = {},
): AsyncGenerator<CleanProgress, CleanResult, undefined> {
  const loopEnd = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, loopEnd.signal]) : loopEnd.signal
  /** Progress that was not yielded yet, by phase and shard, in the order of arrival. */
  const unyielded = new Map<string, CleanProgress>()
  let news = Promise.withResolvers<void>()
  let ended = false
  const work = tunedCleanIndex(store, names, {
    ...options,
    signal,
    onProgress(progress) {
      unyielded.set(`${progress.phase} ${progress.shard}`, progress)
      news.resolve()
    },
  }).finally(() => {
    ended = true
    news.resolve()
  })
  // The work is awaited below; until then its rejection must not count as unhandled.
  work.catch(() => undefined)
  try {
    for (;;) {
      await news.promise
      news = Promise.withResolvers<void>()
      // The loop also takes progress that arrives during a `yield`.
      for (const [key, progress] of unyielded) {
        unyielded.delete(key)
        yield progress
      }
      if (ended) return await work
    }
  } finally {
    loopEnd.abort()
    // Wait until the progress is saved, so that the next call resumes there.
    await work.catch(() => undefined)
  }
}
