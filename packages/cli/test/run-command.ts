import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { bundleOf } from '@looseleaf-tooling/vitest/bundle'
import { onTestFinished } from 'vitest'
import type { Console } from '../src/output/console.ts'
import { runProgram } from '../src/program.ts'

const [BIN, CONFIG_PACKAGES] = (await Promise.all(
  ['../src/bin.ts', './config-packages.ts'].map((name) => bundleOf(new URL(name, import.meta.url))),
)) as [string, string]

/**
 * Arguments of Node that start the command from one file. The config loads its packages from one file, too: from their sources, they take
 * longer than most commands.
 */
export const COMMAND: readonly string[] = [
  '--conditions=@looseleaf/bundle',
  '--conditions=@looseleaf/source',
  BIN,
]

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  /** Replaces the terminal of `runInside`. */
  readonly stdin?: Console['stdin']
  /** Makes stderr of `runInside` a terminal too. */
  readonly isTerminal?: boolean
  /** Stands for Ctrl-C in `runInside`. */
  readonly stop?: AbortSignal
  /** Stops the command of `runInside` at its first output, for commands that run until Ctrl-C. */
  readonly stopAtOutput?: boolean
}

export interface Finished {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** Parses stdout as one JSON value. */
  json<T>(): T
}

export interface Running {
  readonly child: ChildProcess
  readonly finished: Promise<Finished>
}

/** Starts the command in a process of its own. */
export function startCommand(args: readonly string[], options: RunOptions = {}): Running {
  const { LOOSELEAF_SHARDS: _, FORCE_COLOR: __, ...inherited } = process.env
  const child = spawn(process.execPath, [...COMMAND, ...args], {
    cwd: options.cwd ?? tmpdir(),
    env: { ...inherited, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // The command may end before it has read all its input.
  child.stdin.on('error', () => undefined)
  child.stdin.end(options.input ?? '')
  const finished = Promise.all([
    new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (code, signal) => resolve([code, signal]))
    }),
    text(child.stdout).catch(() => ''),
    text(child.stderr),
  ]).then(([[code, signal], stdout, stderr]) => ({
    code,
    signal,
    stdout,
    stderr,
    json: <T>() => JSON.parse(stdout) as T,
  }))
  return { child, finished }
}

export function runCommand(args: readonly string[], options?: RunOptions): Promise<Finished> {
  return startCommand(args, options).finished
}

function terminal(isTTY: boolean): PassThrough {
  return Object.assign(new PassThrough(), { isTTY, columns: 200 })
}

/** Runs the command in this process, which is faster. For tests that do not need a process of their own. */
export async function runInside(args: readonly string[], options: RunOptions = {}): Promise<Finished> {
  const [stdout, stderr] = [new PassThrough(), terminal(options.isTerminal === true)]
  const texts = Promise.all([text(stdout), text(stderr)])
  const output = new AbortController()
  if (options.stopAtOutput) {
    const write = stdout.write.bind(stdout) as (...args: unknown[]) => boolean
    stdout.write = (...given: unknown[]) => {
      output.abort()
      return write(...given)
    }
  }
  const code = await runProgram(args, {
    stdin: options.stdin ?? Readable.from([Buffer.from(options.input ?? '')]),
    stdout,
    stderr,
    env: options.env ?? {},
    cwd: options.cwd ?? tmpdir(),
    signal: options.stop ?? output.signal,
  })
  stdout.end()
  stderr.end()
  const [out, err] = await texts
  return { code, signal: null, stdout: out, stderr: err, json: <T>() => JSON.parse(out) as T }
}

/** Makes a folder whose config can import this package and `defineIndex`. It is removed after the test, or by `atEnd`. */
export function projectFolder(atEnd: (remove: () => void) => void = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'looseleaf-command-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['cli', 'codec', 'core', 'driver-sqlite', 'index-engine', 'kinds']) {
    const target = join(folder, 'node_modules', '@looseleaf', name)
    mkdirSync(target, { recursive: true })
    const exports = { '@looseleaf/bundle': './bundle.mjs', '@looseleaf/source': './index.ts' }
    writeFileSync(join(target, 'package.json'), JSON.stringify({ type: 'module', exports }))
    symlinkSync(CONFIG_PACKAGES, join(target, 'bundle.mjs'))
    symlinkSync(fileURLToPath(import.meta.resolve(`@looseleaf/${name}`)), join(target, 'index.ts'))
  }
  return folder
}
