import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Starts a program of this folder in a new process, with its configuration as JSON. Like this process, it runs on the sources. */
export function forkProgram(file: 'filler.ts' | 'load.ts', argument: unknown): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(argument)], {
    execArgv: ['--conditions=@looseleaf/source', '--disable-warning=ExperimentalWarning'],
  })
}
