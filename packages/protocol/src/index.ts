export { duplicateKey, isHeld, takeKey, type TakeKey, type WantedKey } from './claims.ts'
export { fence, type SeenEntity } from './fence.ts'
export { deleteDelayMs, learnPolicies, mayBeLost } from './policies.ts'
