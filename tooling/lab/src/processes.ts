import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Message, Order, Place } from './child.ts'
import { moment, readRecords } from './records.ts'

/** A process, seen from its parent. */
export interface Process {
  /** Resolves when it says that it has begun; rejects when it ends before. */
  readonly ready: Promise<void>
  /** Resolves with the moment at which it was gone. */
  readonly gone: Promise<number>
  readonly isGone: boolean
  /** It has ended by an error of its own. */
  readonly hasFailed: boolean
  /** Resolves when it has printed something, which is that it stops dead. */
  readonly stopped: Promise<void>
  /** Resolves when a write of it is acknowledged from now on, or when it is gone. */
  written(): Promise<void>
  signal(name: NodeJS.Signals): void
  /** Lets callers end what is under way; the process ends then. */
  stop(): void
}

/** What one process wrote down, and when it was known to be gone. */
export interface Recording<Line> {
  readonly records: readonly Line[]
  readonly goneAt: number
}

/** Processes of one program, which are numbered from 1 and write down what they do. */
export interface Processes<Config, Line> {
  /** Starts one more. */
  start(config?: Partial<Config>, environment?: NodeJS.ProcessEnv): Process
  /** All that were started. */
  readonly all: readonly Process[]
  /** Resolves when all are gone: those that are not within the limit are killed and counted as hanging. */
  end(limitMs: number): Promise<{ readonly histories: Recording<Line>[]; readonly hanging: number }>
  /** Kills what is left. */
  kill(): Promise<void>
}

/** `program` calls `runAsChild`; `folder` is where they write. */
export function createProcesses<Config extends object, Line>(
  program: URL,
  folder: string,
  common: Config,
): Processes<Config, Line> {
  const started: { readonly process: Process; readonly file: string }[] = []

  return {
    start(changes = {}, environment = {}) {
      const number = started.length + 1
      const file = join(folder, `process-${number}.jsonl`)
      const config: Config & Place = { ...common, number, file, ...changes }
      const process = startProcess(program, config, environment)
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

function startProcess(program: URL, config: object, environment: NodeJS.ProcessEnv): Process {
  const child = spawn(
    process.execPath,
    ['--conditions=@looseleaf/source', '--expose-gc', fileURLToPath(program), JSON.stringify(config)],
    {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
      env: { ...process.env, NODE_OPTIONS: '', NODE_NO_WARNINGS: '1', ...environment },
    },
  )
  let isGone = false
  const gone = once(child, 'exit').then(() => {
    isGone = true
    return moment()
  })
  // Resolves at the first word; a process says nothing else on its standard output.
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
  // Whoever does not wait for it learns of its end in other ways.
  ready.catch(() => undefined)
  return ready
}
