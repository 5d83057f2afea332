import type { FileResult } from './result-file.ts'

/** How many of a hundred mutants were noticed; 100 where there is none. */
export function scoreOf(files: readonly Pick<FileResult, 'mutants' | 'killed' | 'hung'>[]): number {
  const all = files.reduce((sum, { mutants }) => sum + mutants, 0)
  const noticed = files.reduce((sum, { killed, hung }) => sum + killed + hung, 0)
  return all === 0 ? 100 : (100 * noticed) / all
}
