import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** Time for a program to become ready. */
const READY_MS = 180_000
/** Last characters of the error output that a failure quotes. */
const QUOTED = 2_000

export interface ProgramOptions {
  readonly name: string
  readonly path: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Line of the standard output that says that the program works. */
  readonly ready: RegExp
  /** Arguments for Node. */
  readonly execArgv?: readonly string[]
}

/** A process of the site that can be killed and started again. */
export interface Program {
  readonly name: string
  /** Id of the process since its last start. */
  readonly pid: number
  /** Match of `ready` at the last start. */
  readonly ready: RegExpExecArray
  /** The end of its error output. */
  readonly errors: string
  /** Number of kills. */
  readonly kills: number
  /** Returns true if the process was up during the whole time since then, in milliseconds of `performance.now()`. */
  wasUpSince(time: number): boolean
  /** Rejects if the process ends by itself. */
  readonly ended: Promise<never>
  /** Kills it with SIGKILL, and starts it again with these additional arguments. */
  restart(...args: readonly string[]): Promise<void>
  /** Stops it with SIGTERM. */
  stop(): Promise<void>
}

/** Starts a program of the site as a process of its own, and waits until it is ready. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const { name, ready: pattern } = options
  const unexpected = Promise.withResolvers<never>()
  // A run that has failed for another reason does not wait for it.
  unexpected.promise.catch(() => {})
  let child: ChildProcess
  let expectsEnd = false
  let isStopped = false
  let upSince = Infinity
  let kills = 0
  let errors = ''
  let ready = await start([])

  async function start(more: readonly string[]): Promise<RegExpExecArray> {
    if (isStopped) throw new Error(`The process “${name}” was stopped.`)
    const { path, args, env, execArgv = [] } = options
    expectsEnd = false
    child = spawn(process.execPath, [...execArgv, path, ...args, ...more], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const started = Promise.withResolvers<RegExpExecArray>()
    child.stderr?.on('data', (chunk: Buffer) => void (errors = `${errors}${chunk}`.slice(-QUOTED)))
    child.stdout?.on('data', (chunk: Buffer) => {
      output = `${output}${chunk}`.slice(-QUOTED)
      const match = pattern.exec(output)
      if (match !== null) started.resolve(match)
    })
    child.once('exit', (code, signal) => {
      if (expectsEnd) return
      const error = new Error(`The process “${name}” ended by itself (${code ?? signal}). ${errors}`)
      started.reject(error)
      unexpected.reject(error)
    })
    const timer = setTimeout(() => {
      started.reject(new Error(`The process “${name}” was not ready in ${READY_MS} ms. ${errors}`))
    }, READY_MS)
    try {
      const match = await started.promise
      upSince = performance.now()
      return match
    } finally {
      clearTimeout(timer)
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    expectsEnd = true
    upSince = Infinity
    if (child.exitCode !== null || child.signalCode !== null) return
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }

  return {
    name,
    get pid() {
      return child.pid as number
    },
    get ready() {
      return ready
    },
    get errors() {
      return errors
    },
    get kills() {
      return kills
    },
    wasUpSince: (time) => upSince <= time,
    ended: unexpected.promise,
    async restart(...more) {
      kills++
      await end('SIGKILL')
      ready = await start(more)
    },
    async stop() {
      isStopped = true
      await end('SIGTERM')
    },
  }
}
