import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { BeyondLimit, LONGEST_PARSE_MS, MOST_MEMORY_MB } from './limits.ts'
import type { ParseFileOptions } from './parse-file.ts'
import type { ParsedFile } from './parsed-feed.ts'
import type { ParseTask } from './parse-worker.ts'

/** Reads the files that people bring, without keeping anybody else waiting. */
export interface FileParser {
  /**
   * As `parseFile`, in a thread of its own and one file after the other. Never rejects: a file that takes more time or
   * memory than a file may is refused.
   */
  parse(bytes: Uint8Array, options: ParseFileOptions): Promise<ParsedFile>
  /** Ends the thread; a file that it is at is refused. */
  close(): Promise<void>
}

/** The thread runs what this module is: a source, or what was built of it. */
const THREAD = new URL(`./parse-worker${extname(import.meta.url)}`, import.meta.url)

export function createFileParser(longestMs: number = LONGEST_PARSE_MS): FileParser {
  let thread: Worker | undefined
  let last: Promise<unknown> = Promise.resolve()

  /** It is kept for the next file, and does not keep the process. */
  function start(): Worker {
    const worker = new Worker(THREAD, { resourceLimits: { maxOldGenerationSizeMb: MOST_MEMORY_MB } })
    worker.on('exit', () => {
      if (thread === worker) thread = undefined
    })
    // Whoever waits for it hears of it; when nobody does, it is of no interest.
    worker.on('error', () => undefined)
    return worker
  }

  async function run(task: ParseTask): Promise<ParsedFile> {
    let worker: Worker | undefined
    try {
      worker = thread ??= start()
      worker.ref()
      return await answerOf(worker, task, longestMs)
    } catch (error) {
      await worker?.terminate()
      return { type: 'refused', reason: reasonOf(error) }
    } finally {
      worker?.unref()
    }
  }

  return {
    parse(bytes, options) {
      const parsed = last.then(() => run({ bytes, ...options }))
      last = parsed
      return parsed
    },
    async close() {
      await thread?.terminate()
    },
  }
}

async function answerOf(worker: Worker, task: ParseTask, longestMs: number): Promise<ParsedFile> {
  const { promise, resolve, reject } = Promise.withResolvers<ParsedFile>()
  const onExit = (): void => reject(new Error('it was interrupted'))
  const timer = setTimeout(() => reject(outOfTime(longestMs)), longestMs)
  worker.on('message', resolve).on('error', reject).on('exit', onExit)
  worker.postMessage(task)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    worker.off('message', resolve).off('error', reject).off('exit', onExit)
  }
}

function outOfTime(longestMs: number): BeyondLimit {
  return new BeyondLimit(`The file takes longer than ${longestMs / 1000} seconds to read.`)
}

function reasonOf(error: unknown): string {
  if (error instanceof BeyondLimit) return error.message
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ERR_WORKER_OUT_OF_MEMORY')
    return `The file takes more than ${MOST_MEMORY_MB} MB of memory to read.`
  return `The file could not be read: ${error instanceof Error ? error.message : 'unknown reason'}.`
}
