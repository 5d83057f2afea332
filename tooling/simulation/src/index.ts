export { faultKinds, type FaultKind } from './faults.ts'
export { RESULT_FILE, type SimulationResultFile, type SimulationRun } from './result-file.ts'
export type { SimulationTotals, Violation } from './totals.ts'
