export { codecContract } from './contracts/codec/codec-contract.ts'
export { routerContract } from './contracts/router/router-contract.ts'
export { driverContract } from './contracts/driver/driver-contract.ts'
export type { DriverHarness } from './contracts/driver/harness.ts'
export {
  faultyDriver,
  unknownOutcome,
  type Fault,
  type FaultPlan,
  type FaultyCall,
  type FaultyDriver,
} from './doubles/faulty-driver.ts'
export { keepOpen } from './doubles/keep-open.ts'
export { withoutPauses } from './doubles/without-pauses.ts'
