import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { BeyondLimit, MAX_PARSE_MS, MAX_MEMORY_MB } from '../limits.ts'
import type { ParseFileOptions } from '../parse-file.ts'
import type { ParsedFile } from '../parsed-feed.ts'
import type { ParseTask } from './parse-worker.ts'

/** Parses uploaded files in worker threads, so that the event loop stays free for other requests. */
export interface FileParser {
  /**
   * Does the same as `parseFile` in a worker thread, two files at a time. Never rejects: a file beyond the limits of time or memory is
   * refused.
   */
  parse(bytes: Uint8Array, options: ParseFileOptions): Promise<ParsedFile>
  /** Ends the threads. Files in progress, and those that wait, are refused. */
  close(): Promise<void>
}

/** Threads of a parser. A file that takes long leaves one for the others. */
const THREADS = 2

/** The worker has the extension of this module, which runs from sources or from the build. */
const THREAD = new URL(`./parse-worker${extname(import.meta.url)}`, import.meta.url)

/** Starts a thread that parses files, within the limit of memory. */
export function startThread(): Worker {
  return new Worker(THREAD, { resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB } })
}

/** `newThread` throws if no thread can be started; a file is refused then. */
export function createFileParser(
  timeoutMs: number = MAX_PARSE_MS,
  newThread: () => Worker = startThread,
): FileParser {
  const threads = Array.from({ length: THREADS }, () => createThread(timeoutMs, newThread))
  const idle = threads.toReversed()
  const waiting: ((thread: ParseThread | undefined) => void)[] = []

  function release(thread: ParseThread): void {
    const next = waiting.shift()
    if (next === undefined) idle.push(thread)
    else next(thread)
  }

  return {
    async parse(bytes, options) {
      const thread =
        idle.pop() ?? (await new Promise<ParseThread | undefined>((resolve) => waiting.push(resolve)))
      if (thread === undefined) return { type: 'refused', reason: reasonOf(stopped()) }
      try {
        return await thread.run({ bytes, ...options })
      } finally {
        release(thread)
      }
    },
    async close() {
      for (const refuse of waiting.splice(0)) refuse(undefined)
      await Promise.all(threads.map((thread) => thread.close()))
    },
  }
}

interface ParseThread {
  /** Parses a file. A thread parses one file at a time. */
  run(task: ParseTask): Promise<ParsedFile>
  close(): Promise<void>
}

/** Returns a thread that is started with its first file, and again after a file that has ended it. */
function createThread(timeoutMs: number, newThread: () => Worker): ParseThread {
  let thread: Worker | undefined

  /** Starts a thread, which is reused for later files. While idle, it does not keep the process alive. */
  function start(): Worker {
    const worker = newThread()
    worker.on('exit', () => {
      if (thread === worker) thread = undefined
    })
    // A file in progress listens for errors itself. Without this listener, an error of an idle thread would end the process.
    worker.on('error', () => undefined)
    return worker
  }

  return {
    async run(task) {
      let worker: Worker | undefined
      try {
        worker = thread ??= start()
        worker.ref()
        return await answerOf(worker, task, timeoutMs)
      } catch (error) {
        await worker?.terminate()
        return { type: 'refused', reason: reasonOf(error) }
      } finally {
        worker?.unref()
      }
    },
    async close() {
      await thread?.terminate()
    },
  }
}

async function answerOf(worker: Worker, task: ParseTask, timeoutMs: number): Promise<ParsedFile> {
  const { promise, resolve, reject } = Promise.withResolvers<ParsedFile>()
  const onExit = (): void => reject(stopped())
  const timer = setTimeout(() => reject(outOfTime(timeoutMs)), timeoutMs)
  worker.on('message', resolve).on('error', reject).on('exit', onExit)
  worker.postMessage(task)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    worker.off('message', resolve).off('error', reject).off('exit', onExit)
  }
}

function outOfTime(timeoutMs: number): BeyondLimit {
  return new BeyondLimit(`The file takes longer than ${timeoutMs / 1000} seconds to read.`)
}

function stopped(): Error {
  return new Error('the parser was stopped')
}

function reasonOf(error: unknown): string {
  if (error instanceof BeyondLimit) return error.message
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'ERR_WORKER_OUT_OF_MEMORY')
    return `The file takes more than ${MAX_MEMORY_MB} MB of memory to read.`
  return `The file could not be read: ${error instanceof Error ? error.message : 'unknown reason'}.`
}
