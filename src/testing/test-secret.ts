/** The secret that all published fixtures are signed with. Known to everybody, so never a real one. */
export const TEST_SECRET = "whsec_test_0123456789abcdef";
