export { reasonFor } from './equivalent.ts'
export type { FileResult, MutantsResultFile, MutantsRun } from './result-file.ts'
export { scoreOf } from './score.ts'
