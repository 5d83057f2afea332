export { createReferenceDriver, type ReferenceDriver, type ReferenceShard } from './reference-driver.ts'
