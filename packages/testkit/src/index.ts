export { codecContract, type CodecContractOptions } from './codec-contract.ts'
export { routerContract } from './router-contract.ts'
export { driverContract } from './driver-contract.ts'
export type { DriverContractOptions, DriverHarness, MakeDriverHarness } from './driver-contract-harness.ts'
export {
  faultyDriver,
  unknownOutcome,
  type Fault,
  type FaultPlan,
  type FaultyCall,
  type FaultyDriver,
} from './faulty-driver.ts'
export type { TestFunctions } from './test-functions.ts'
export { keepOpen } from './keep-open.ts'
export { withoutPauses } from './without-pauses.ts'
