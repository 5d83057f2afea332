export { checkNames, checks } from './checks.ts'
export { noFaults } from './faults.ts'
export type { SimulationResultFile } from './result-file.ts'
export { noTotals } from './totals.ts'
