import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A part of the run in a process of its own, on the sources as this one is. */
export function forkPart(file: 'filler.ts' | 'load.ts', argument: unknown): ChildProcess {
  return fork(fileURLToPath(new URL(file, import.meta.url)), [JSON.stringify(argument)], {
    execArgv: ['--conditions=@looseleaf/source', '--disable-warning=ExperimentalWarning'],
  })
}
