import type { FileResult } from './result-file.ts'

/** Percentage of killed mutants; 100 if there are none. */
export function scoreOf(files: readonly Pick<FileResult, 'mutants' | 'killed' | 'hung'>[]): number {
  const all = files.reduce((sum, { mutants }) => sum + mutants, 0)
  const noticed = files.reduce((sum, { killed, hung }) => sum + killed + hung, 0)
  return all === 0 ? 100 : (100 * noticed) / all
}
