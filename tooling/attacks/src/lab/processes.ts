import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { bundleOf } from '@looseleaf-tooling/vitest/bundle'
import type { Message, Order, Place } from './child.ts'
import { moment, readRecords } from './records.ts'

/** A process as seen by its parent. */
export interface Process {
  /** Resolves when the process reports that it has begun; rejects if it ends before. */
  readonly ready: Promise<void>
  /** Resolves with the time of its exit. */
  readonly gone: Promise<number>
  readonly isGone: boolean
  /** True if it ended with an error. */
  readonly hasFailed: boolean
  /** Resolves when it has printed something, which it does just before it stops itself. */
  readonly stopped: Promise<void>
  /** Resolves at its next acknowledged write, or when it is gone. */
  written(): Promise<void>
  signal(name: NodeJS.Signals): void
  /** Lets its calls end; the process exits then. */
  stop(): void
}

/** Records of one process, and the time by which it was known to be dead. */
export interface Recording<Line> {
  readonly records: readonly Line[]
  readonly goneAt: number
}

/** Processes of one program, numbered from 1, that record their work. */
export interface Processes<Config, Line> {
  /** Starts one more process. */
  start(config?: Partial<Config>, environment?: NodeJS.ProcessEnv): Process
  /** All processes that were started. */
  readonly all: readonly Process[]
  /** Resolves when all are gone. Kills processes that exceed the limit and counts them as hanging. */
  end(limitMs: number): Promise<{ readonly histories: Recording<Line>[]; readonly hanging: number }>
  /** Kills all remaining processes. */
  kill(): Promise<void>
}

/** `program` calls `runAsChild`; `folder` receives the histories. */
export async function createProcesses<Config extends object, Line>(
  program: URL,
  folder: string,
  common: Config,
): Promise<Processes<Config, Line>> {
  const bundle = await bundleOf(program)
  const started: { readonly process: Process; readonly file: string }[] = []

  return {
    start(changes = {}, environment = {}) {
      const number = started.length + 1
      const file = join(folder, `process-${number}.jsonl`)
      const config: Config & Place = { ...common, number, file, ...changes }
      const process = startProcess(bundle, config, environment)
      started.push({ process, file })
      return process
    },
    get all() {
      return started.map(({ process }) => process)
    },
    async end(limitMs) {
      let hanging = 0
      const timer = setTimeout(() => {
        for (const { process } of started) {
          if (process.isGone) continue
          hanging++
          process.signal('SIGKILL')
        }
      }, limitMs)
      try {
        const histories = await Promise.all(
          started.map(async ({ process, file }) => {
            const goneAt = await process.gone
            return { records: readRecords<Line>(file), goneAt }
          }),
        )
        return { histories, hanging }
      } finally {
        clearTimeout(timer)
      }
    },
    async kill() {
      for (const { process } of started) if (!process.isGone) process.signal('SIGKILL')
      await Promise.all(started.map(({ process }) => process.gone))
    },
  }
}

function startProcess(program: string, config: object, environment: NodeJS.ProcessEnv): Process {
  const child = spawn(process.execPath, ['--expose-gc', program, JSON.stringify(config)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: { ...process.env, NODE_OPTIONS: '', NODE_NO_WARNINGS: '1', ...environment },
  })
  let isGone = false
  const gone = once(child, 'exit').then(() => {
    isGone = true
    return moment()
  })
  // Resolves at the first output; a process prints nothing else on standard output.
  const stopped = new Promise<void>((resolve) => child.stdout?.once('data', () => resolve()))
  const send = (order: Order): void => {
    if (!isGone && child.connected) child.send(order, () => undefined)
  }
  return {
    ready: untilReady(child),
    gone,
    stopped,
    get isGone() {
      return isGone
    },
    get hasFailed() {
      return (child.exitCode ?? 0) !== 0
    },
    written: () =>
      new Promise((resolve) => {
        const end = (): void => {
          child.off('message', hear)
          resolve()
        }
        const hear = (message: Message): void => {
          if (message === 'written') end()
        }
        child.on('message', hear)
        void gone.then(end)
        send('say when written')
      }),
    signal: (name) => void child.kill(name),
    stop: () => send('stop'),
  }
}

function untilReady(child: ChildProcess): Promise<void> {
  const ready = new Promise<void>((resolve, reject) => {
    child.on('message', (message: Message) => {
      if (message === 'ready') resolve()
    })
    child.once('exit', () => reject(new Error('A process ended before it had opened its store.')))
  })
  // Avoids an unhandled rejection; some callers only await `gone`.
  ready.catch(() => undefined)
  return ready
}
