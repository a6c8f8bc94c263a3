; a product with its bias and activation

; == linear_add_gelu
; loop [p0, p1] kept 2 vector 1
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 f32 written
;   access a0 b0 + 0 [p2, 1]
;   access a1 b1 + 0 [0, 1]
;   access a2 b2 + 0 [p3, 1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = op Add %0 %1
;   %3 f32 = const 0.707106769 #3fe6a09e60000000
;   %4 f32 = op Mul %2 %3
;   %5 f32 = op Erf %4
;   %6 f32 = const 1 #3ff0000000000000
;   %7 f32 = op Add %6 %5
;   %8 f32 = const 0.5 #3fe0000000000000
;   %9 f32 = op Mul %2 %8
;   %10 f32 = op Mul %9 %7
;   %11 f32 = store a2 %10
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 0
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 1
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 2
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr i64, ptr %1, i64 2
  %16 = load i64, ptr %15, align 8
  %17 = getelementptr i64, ptr %1, i64 3
  %18 = load i64, ptr %17, align 8
  %19 = mul i64 1, %6
  %20 = mul i64 %19, %8
  %21 = icmp sge i64 %20, 8388608
  %22 = ptrtoint ptr %14 to i64
  %23 = or i64 0, %22
  %24 = mul i64 %18, 4
  %25 = or i64 %23, %24
  %26 = and i64 %25, 63
  %27 = icmp eq i64 %26, 0
  %28 = and i1 %21, %27
  %29 = add i64 %8, 4095
  %30 = lshr i64 %29, 12
  %31 = urem i64 %2, %30
  %32 = udiv i64 %2, %30
  br label %task.head

done:                                             ; preds = %endif8, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %314, %tail.end ]
  %33 = phi i64 [ %32, %work ], [ %313, %tail.end ]
  %34 = phi i64 [ %31, %work ], [ %311, %tail.end ]
  %35 = icmp slt i64 %task1, %3
  br i1 %35, label %task, label %task.end

task:                                             ; preds = %task.head
  %36 = mul i64 %33, %16
  %37 = getelementptr float, ptr %10, i64 %36
  %38 = mul i64 %33, %18
  %39 = getelementptr float, ptr %14, i64 %38
  %40 = mul i64 %34, 4096
  %41 = add i64 %40, 4096
  %42 = call i64 @llvm.smin.i64(i64 %41, i64 %8)
  %43 = sub i64 %42, %40
  %44 = and i64 %43, -16
  %45 = add i64 %40, %44
  br i1 %28, label %then, label %else

then:                                             ; preds = %task
  %46 = icmp slt i64 %40, %45
  br i1 %46, label %vector, label %vector.end

vector:                                           ; preds = %vector, %then
  %vector2 = phi i64 [ %40, %then ], [ %148, %vector ]
  %47 = getelementptr float, ptr %37, i64 %vector2
  %48 = load <8 x float>, ptr %47, align 4
  %49 = getelementptr float, ptr %37, i64 %vector2
  %50 = getelementptr float, ptr %49, i64 8
  %51 = load <8 x float>, ptr %50, align 4
  %52 = getelementptr float, ptr %12, i64 %vector2
  %53 = load <8 x float>, ptr %52, align 4
  %54 = getelementptr float, ptr %12, i64 %vector2
  %55 = getelementptr float, ptr %54, i64 8
  %56 = load <8 x float>, ptr %55, align 4
  %57 = fadd <8 x float> %48, %53
  %58 = fadd <8 x float> %51, %56
  %59 = fmul <8 x float> %57, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %60 = fmul <8 x float> %58, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %61 = fmul <8 x float> %57, <float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000>
  %62 = fmul <8 x float> %58, <float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000>
  %63 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %61)
  %64 = fmul <8 x float> %61, %61
  %65 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000>, <8 x float> %64, <8 x float> <float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000>)
  %66 = call <8 x float> @llvm.fma.v8f32(<8 x float> %65, <8 x float> %64, <8 x float> <float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000>)
  %67 = call <8 x float> @llvm.fma.v8f32(<8 x float> %66, <8 x float> %64, <8 x float> <float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000>)
  %68 = call <8 x float> @llvm.fma.v8f32(<8 x float> %67, <8 x float> %64, <8 x float> <float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000>)
  %69 = call <8 x float> @llvm.fma.v8f32(<8 x float> %68, <8 x float> %64, <8 x float> <float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000>)
  %70 = call <8 x float> @llvm.fma.v8f32(<8 x float> %69, <8 x float> %64, <8 x float> <float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000>)
  %71 = call <8 x float> @llvm.fma.v8f32(<8 x float> %63, <8 x float> %70, <8 x float> %63)
  %72 = fcmp ogt <8 x float> %63, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
  %73 = select <8 x i1> %72, <8 x float> <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>, <8 x float> %63
  %74 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000>, <8 x float> %73, <8 x float> <float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000>)
  %75 = call <8 x float> @llvm.fma.v8f32(<8 x float> %74, <8 x float> %73, <8 x float> <float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000>)
  %76 = call <8 x float> @llvm.fma.v8f32(<8 x float> %75, <8 x float> %73, <8 x float> <float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000>)
  %77 = call <8 x float> @llvm.fma.v8f32(<8 x float> %76, <8 x float> %73, <8 x float> <float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000>)
  %78 = call <8 x float> @llvm.fma.v8f32(<8 x float> %77, <8 x float> %73, <8 x float> <float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000>)
  %79 = call <8 x float> @llvm.fma.v8f32(<8 x float> %78, <8 x float> %73, <8 x float> <float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000>)
  %80 = fmul <8 x float> %79, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %81 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %80)
  %82 = call <8 x float> @llvm.fma.v8f32(<8 x float> %81, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %79)
  %83 = fmul <8 x float> %81, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %84 = fadd <8 x float> %82, %83
  %85 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %84, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %86 = call <8 x float> @llvm.fma.v8f32(<8 x float> %85, <8 x float> %84, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %87 = call <8 x float> @llvm.fma.v8f32(<8 x float> %86, <8 x float> %84, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %88 = call <8 x float> @llvm.fma.v8f32(<8 x float> %87, <8 x float> %84, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %89 = fmul <8 x float> %84, %84
  %90 = call <8 x float> @llvm.fma.v8f32(<8 x float> %89, <8 x float> %88, <8 x float> %83)
  %91 = fadd <8 x float> %82, %90
  %92 = bitcast <8 x float> %79 to <8 x i32>
  %93 = fptosi <8 x float> %81 to <8 x i32>
  %94 = add <8 x i32> %93, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %95 = shl <8 x i32> %94, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %96 = bitcast <8 x i32> %95 to <8 x float>
  %97 = call <8 x float> @llvm.fma.v8f32(<8 x float> %96, <8 x float> %91, <8 x float> %96)
  %98 = fsub <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %97
  %99 = fcmp olt <8 x float> %63, <float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01>
  %100 = select <8 x i1> %99, <8 x float> %71, <8 x float> %98
  %101 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %100, <8 x float> %61)
  %102 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %62)
  %103 = fmul <8 x float> %62, %62
  %104 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000>, <8 x float> %103, <8 x float> <float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000>)
  %105 = call <8 x float> @llvm.fma.v8f32(<8 x float> %104, <8 x float> %103, <8 x float> <float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000>)
  %106 = call <8 x float> @llvm.fma.v8f32(<8 x float> %105, <8 x float> %103, <8 x float> <float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000>)
  %107 = call <8 x float> @llvm.fma.v8f32(<8 x float> %106, <8 x float> %103, <8 x float> <float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000>)
  %108 = call <8 x float> @llvm.fma.v8f32(<8 x float> %107, <8 x float> %103, <8 x float> <float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000>)
  %109 = call <8 x float> @llvm.fma.v8f32(<8 x float> %108, <8 x float> %103, <8 x float> <float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000>)
  %110 = call <8 x float> @llvm.fma.v8f32(<8 x float> %102, <8 x float> %109, <8 x float> %102)
  %111 = fcmp ogt <8 x float> %102, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
  %112 = select <8 x i1> %111, <8 x float> <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>, <8 x float> %102
  %113 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000>, <8 x float> %112, <8 x float> <float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000>)
  %114 = call <8 x float> @llvm.fma.v8f32(<8 x float> %113, <8 x float> %112, <8 x float> <float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000>)
  %115 = call <8 x float> @llvm.fma.v8f32(<8 x float> %114, <8 x float> %112, <8 x float> <float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000>)
  %116 = call <8 x float> @llvm.fma.v8f32(<8 x float> %115, <8 x float> %112, <8 x float> <float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000>)
  %117 = call <8 x float> @llvm.fma.v8f32(<8 x float> %116, <8 x float> %112, <8 x float> <float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000>)
  %118 = call <8 x float> @llvm.fma.v8f32(<8 x float> %117, <8 x float> %112, <8 x float> <float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000>)
  %119 = fmul <8 x float> %118, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %120 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %119)
  %121 = call <8 x float> @llvm.fma.v8f32(<8 x float> %120, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %118)
  %122 = fmul <8 x float> %120, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %123 = fadd <8 x float> %121, %122
  %124 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %123, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %125 = call <8 x float> @llvm.fma.v8f32(<8 x float> %124, <8 x float> %123, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %126 = call <8 x float> @llvm.fma.v8f32(<8 x float> %125, <8 x float> %123, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %127 = call <8 x float> @llvm.fma.v8f32(<8 x float> %126, <8 x float> %123, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %128 = fmul <8 x float> %123, %123
  %129 = call <8 x float> @llvm.fma.v8f32(<8 x float> %128, <8 x float> %127, <8 x float> %122)
  %130 = fadd <8 x float> %121, %129
  %131 = bitcast <8 x float> %118 to <8 x i32>
  %132 = fptosi <8 x float> %120 to <8 x i32>
  %133 = add <8 x i32> %132, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %134 = shl <8 x i32> %133, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %135 = bitcast <8 x i32> %134 to <8 x float>
  %136 = call <8 x float> @llvm.fma.v8f32(<8 x float> %135, <8 x float> %130, <8 x float> %135)
  %137 = fsub <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %136
  %138 = fcmp olt <8 x float> %102, <float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01>
  %139 = select <8 x i1> %138, <8 x float> %110, <8 x float> %137
  %140 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %139, <8 x float> %62)
  %141 = fadd <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %101
  %142 = fadd <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %140
  %143 = fmul <8 x float> %59, %141
  %144 = fmul <8 x float> %60, %142
  %145 = getelementptr float, ptr %39, i64 %vector2
  store <8 x float> %143, ptr %145, align 32, !nontemporal !0
  %146 = getelementptr float, ptr %39, i64 %vector2
  %147 = getelementptr float, ptr %146, i64 8
  store <8 x float> %144, ptr %147, align 32, !nontemporal !0
  %148 = add i64 %vector2, 16
  %149 = icmp slt i64 %148, %45
  br i1 %149, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %then
  br label %endif

else:                                             ; preds = %task
  %150 = icmp slt i64 %40, %45
  br i1 %150, label %vector3, label %vector.end5

vector3:                                          ; preds = %vector3, %else
  %vector4 = phi i64 [ %40, %else ], [ %252, %vector3 ]
  %151 = getelementptr float, ptr %37, i64 %vector4
  %152 = load <8 x float>, ptr %151, align 4
  %153 = getelementptr float, ptr %37, i64 %vector4
  %154 = getelementptr float, ptr %153, i64 8
  %155 = load <8 x float>, ptr %154, align 4
  %156 = getelementptr float, ptr %12, i64 %vector4
  %157 = load <8 x float>, ptr %156, align 4
  %158 = getelementptr float, ptr %12, i64 %vector4
  %159 = getelementptr float, ptr %158, i64 8
  %160 = load <8 x float>, ptr %159, align 4
  %161 = fadd <8 x float> %152, %157
  %162 = fadd <8 x float> %155, %160
  %163 = fmul <8 x float> %161, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %164 = fmul <8 x float> %162, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %165 = fmul <8 x float> %161, <float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000>
  %166 = fmul <8 x float> %162, <float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000>
  %167 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %165)
  %168 = fmul <8 x float> %165, %165
  %169 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000>, <8 x float> %168, <8 x float> <float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000>)
  %170 = call <8 x float> @llvm.fma.v8f32(<8 x float> %169, <8 x float> %168, <8 x float> <float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000>)
  %171 = call <8 x float> @llvm.fma.v8f32(<8 x float> %170, <8 x float> %168, <8 x float> <float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000>)
  %172 = call <8 x float> @llvm.fma.v8f32(<8 x float> %171, <8 x float> %168, <8 x float> <float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000>)
  %173 = call <8 x float> @llvm.fma.v8f32(<8 x float> %172, <8 x float> %168, <8 x float> <float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000>)
  %174 = call <8 x float> @llvm.fma.v8f32(<8 x float> %173, <8 x float> %168, <8 x float> <float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000>)
  %175 = call <8 x float> @llvm.fma.v8f32(<8 x float> %167, <8 x float> %174, <8 x float> %167)
  %176 = fcmp ogt <8 x float> %167, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
  %177 = select <8 x i1> %176, <8 x float> <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>, <8 x float> %167
  %178 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000>, <8 x float> %177, <8 x float> <float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000>)
  %179 = call <8 x float> @llvm.fma.v8f32(<8 x float> %178, <8 x float> %177, <8 x float> <float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000>)
  %180 = call <8 x float> @llvm.fma.v8f32(<8 x float> %179, <8 x float> %177, <8 x float> <float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000>)
  %181 = call <8 x float> @llvm.fma.v8f32(<8 x float> %180, <8 x float> %177, <8 x float> <float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000>)
  %182 = call <8 x float> @llvm.fma.v8f32(<8 x float> %181, <8 x float> %177, <8 x float> <float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000>)
  %183 = call <8 x float> @llvm.fma.v8f32(<8 x float> %182, <8 x float> %177, <8 x float> <float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000>)
  %184 = fmul <8 x float> %183, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %185 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %184)
  %186 = call <8 x float> @llvm.fma.v8f32(<8 x float> %185, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %183)
  %187 = fmul <8 x float> %185, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %188 = fadd <8 x float> %186, %187
  %189 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %188, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %190 = call <8 x float> @llvm.fma.v8f32(<8 x float> %189, <8 x float> %188, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %191 = call <8 x float> @llvm.fma.v8f32(<8 x float> %190, <8 x float> %188, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %192 = call <8 x float> @llvm.fma.v8f32(<8 x float> %191, <8 x float> %188, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %193 = fmul <8 x float> %188, %188
  %194 = call <8 x float> @llvm.fma.v8f32(<8 x float> %193, <8 x float> %192, <8 x float> %187)
  %195 = fadd <8 x float> %186, %194
  %196 = bitcast <8 x float> %183 to <8 x i32>
  %197 = fptosi <8 x float> %185 to <8 x i32>
  %198 = add <8 x i32> %197, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %199 = shl <8 x i32> %198, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %200 = bitcast <8 x i32> %199 to <8 x float>
  %201 = call <8 x float> @llvm.fma.v8f32(<8 x float> %200, <8 x float> %195, <8 x float> %200)
  %202 = fsub <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %201
  %203 = fcmp olt <8 x float> %167, <float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01>
  %204 = select <8 x i1> %203, <8 x float> %175, <8 x float> %202
  %205 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %204, <8 x float> %165)
  %206 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %166)
  %207 = fmul <8 x float> %166, %166
  %208 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000>, <8 x float> %207, <8 x float> <float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000>)
  %209 = call <8 x float> @llvm.fma.v8f32(<8 x float> %208, <8 x float> %207, <8 x float> <float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000>)
  %210 = call <8 x float> @llvm.fma.v8f32(<8 x float> %209, <8 x float> %207, <8 x float> <float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000>)
  %211 = call <8 x float> @llvm.fma.v8f32(<8 x float> %210, <8 x float> %207, <8 x float> <float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000>)
  %212 = call <8 x float> @llvm.fma.v8f32(<8 x float> %211, <8 x float> %207, <8 x float> <float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000>)
  %213 = call <8 x float> @llvm.fma.v8f32(<8 x float> %212, <8 x float> %207, <8 x float> <float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000>)
  %214 = call <8 x float> @llvm.fma.v8f32(<8 x float> %206, <8 x float> %213, <8 x float> %206)
  %215 = fcmp ogt <8 x float> %206, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
  %216 = select <8 x i1> %215, <8 x float> <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>, <8 x float> %206
  %217 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000>, <8 x float> %216, <8 x float> <float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000>)
  %218 = call <8 x float> @llvm.fma.v8f32(<8 x float> %217, <8 x float> %216, <8 x float> <float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000>)
  %219 = call <8 x float> @llvm.fma.v8f32(<8 x float> %218, <8 x float> %216, <8 x float> <float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000>)
  %220 = call <8 x float> @llvm.fma.v8f32(<8 x float> %219, <8 x float> %216, <8 x float> <float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000>)
  %221 = call <8 x float> @llvm.fma.v8f32(<8 x float> %220, <8 x float> %216, <8 x float> <float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000>)
  %222 = call <8 x float> @llvm.fma.v8f32(<8 x float> %221, <8 x float> %216, <8 x float> <float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000>)
  %223 = fmul <8 x float> %222, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %224 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %223)
  %225 = call <8 x float> @llvm.fma.v8f32(<8 x float> %224, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %222)
  %226 = fmul <8 x float> %224, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %227 = fadd <8 x float> %225, %226
  %228 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %227, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %229 = call <8 x float> @llvm.fma.v8f32(<8 x float> %228, <8 x float> %227, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %230 = call <8 x float> @llvm.fma.v8f32(<8 x float> %229, <8 x float> %227, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %231 = call <8 x float> @llvm.fma.v8f32(<8 x float> %230, <8 x float> %227, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %232 = fmul <8 x float> %227, %227
  %233 = call <8 x float> @llvm.fma.v8f32(<8 x float> %232, <8 x float> %231, <8 x float> %226)
  %234 = fadd <8 x float> %225, %233
  %235 = bitcast <8 x float> %222 to <8 x i32>
  %236 = fptosi <8 x float> %224 to <8 x i32>
  %237 = add <8 x i32> %236, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %238 = shl <8 x i32> %237, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %239 = bitcast <8 x i32> %238 to <8 x float>
  %240 = call <8 x float> @llvm.fma.v8f32(<8 x float> %239, <8 x float> %234, <8 x float> %239)
  %241 = fsub <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %240
  %242 = fcmp olt <8 x float> %206, <float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01>
  %243 = select <8 x i1> %242, <8 x float> %214, <8 x float> %241
  %244 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %243, <8 x float> %166)
  %245 = fadd <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %205
  %246 = fadd <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %244
  %247 = fmul <8 x float> %163, %245
  %248 = fmul <8 x float> %164, %246
  %249 = getelementptr float, ptr %39, i64 %vector4
  store <8 x float> %247, ptr %249, align 4
  %250 = getelementptr float, ptr %39, i64 %vector4
  %251 = getelementptr float, ptr %250, i64 8
  store <8 x float> %248, ptr %251, align 4
  %252 = add i64 %vector4, 16
  %253 = icmp slt i64 %252, %45
  br i1 %253, label %vector3, label %vector.end5

vector.end5:                                      ; preds = %vector3, %else
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end5
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail6 = phi i64 [ %45, %endif ], [ %308, %tail ]
  %254 = icmp slt i64 %tail6, %42
  br i1 %254, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %255 = sub i64 %42, %tail6
  %256 = call i64 @llvm.umin.i64(i64 %255, i64 8)
  %257 = trunc i64 %256 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %257, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %258 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %259 = getelementptr float, ptr %37, i64 %tail6
  %260 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %259, i32 4, <8 x i1> %258, <8 x float> zeroinitializer)
  %261 = getelementptr float, ptr %12, i64 %tail6
  %262 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %261, i32 4, <8 x i1> %258, <8 x float> zeroinitializer)
  %263 = fadd <8 x float> %260, %262
  %264 = fmul <8 x float> %263, <float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01, float 5.000000e-01>
  %265 = fmul <8 x float> %263, <float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000, float 0x3FE6A09E60000000>
  %266 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %265)
  %267 = fmul <8 x float> %265, %265
  %268 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000, float 0x3F15F61CA0000000>, <8 x float> %267, <8 x float> <float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000, float 0xBF4AB09680000000>)
  %269 = call <8 x float> @llvm.fma.v8f32(<8 x float> %268, <8 x float> %267, <8 x float> <float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000, float 0x3F754DF6A0000000>)
  %270 = call <8 x float> @llvm.fma.v8f32(<8 x float> %269, <8 x float> %267, <8 x float> <float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000, float 0xBF9B811120000000>)
  %271 = call <8 x float> @llvm.fma.v8f32(<8 x float> %270, <8 x float> %267, <8 x float> <float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000, float 0x3FBCE2E280000000>)
  %272 = call <8 x float> @llvm.fma.v8f32(<8 x float> %271, <8 x float> %267, <8 x float> <float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000, float 0xBFD8127440000000>)
  %273 = call <8 x float> @llvm.fma.v8f32(<8 x float> %272, <8 x float> %267, <8 x float> <float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000, float 0x3FC06EBA80000000>)
  %274 = call <8 x float> @llvm.fma.v8f32(<8 x float> %266, <8 x float> %273, <8 x float> %266)
  %275 = fcmp ogt <8 x float> %266, <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>
  %276 = select <8 x i1> %275, <8 x float> <float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00, float 4.000000e+00>, <8 x float> %266
  %277 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000, float 0x3F29B2EF40000000>, <8 x float> %276, <8 x float> <float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000, float 0xBF68F137C0000000>)
  %278 = call <8 x float> @llvm.fma.v8f32(<8 x float> %277, <8 x float> %276, <8 x float> <float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000, float 0x3F96C473E0000000>)
  %279 = call <8 x float> @llvm.fma.v8f32(<8 x float> %278, <8 x float> %276, <8 x float> <float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000, float 0xBFBA9C5380000000>)
  %280 = call <8 x float> @llvm.fma.v8f32(<8 x float> %279, <8 x float> %276, <8 x float> <float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000, float 0xBFE463A020000000>)
  %281 = call <8 x float> @llvm.fma.v8f32(<8 x float> %280, <8 x float> %276, <8 x float> <float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000, float 0xBFF20B0420000000>)
  %282 = call <8 x float> @llvm.fma.v8f32(<8 x float> %281, <8 x float> %276, <8 x float> <float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000, float 0xBF2928CA00000000>)
  %283 = fmul <8 x float> %282, <float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000, float 0x3FF7154760000000>
  %284 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %283)
  %285 = call <8 x float> @llvm.fma.v8f32(<8 x float> %284, <8 x float> <float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000, float 0xBFE62E4000000000>, <8 x float> %282)
  %286 = fmul <8 x float> %284, <float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000, float 0xBEB7F7D1C0000000>
  %287 = fadd <8 x float> %285, %286
  %288 = call <8 x float> @llvm.fma.v8f32(<8 x float> <float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000, float 0x3F56A23F20000000>, <8 x float> %287, <8 x float> <float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000, float 0x3F81239FE0000000>)
  %289 = call <8 x float> @llvm.fma.v8f32(<8 x float> %288, <8 x float> %287, <8 x float> <float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000, float 0x3FA5558F20000000>)
  %290 = call <8 x float> @llvm.fma.v8f32(<8 x float> %289, <8 x float> %287, <8 x float> <float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000, float 0x3FC5554920000000>)
  %291 = call <8 x float> @llvm.fma.v8f32(<8 x float> %290, <8 x float> %287, <8 x float> <float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000, float 0x3FDFFFFFC0000000>)
  %292 = fmul <8 x float> %287, %287
  %293 = call <8 x float> @llvm.fma.v8f32(<8 x float> %292, <8 x float> %291, <8 x float> %286)
  %294 = fadd <8 x float> %285, %293
  %295 = bitcast <8 x float> %282 to <8 x i32>
  %296 = fptosi <8 x float> %284 to <8 x i32>
  %297 = add <8 x i32> %296, <i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127, i32 127>
  %298 = shl <8 x i32> %297, <i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23, i32 23>
  %299 = bitcast <8 x i32> %298 to <8 x float>
  %300 = call <8 x float> @llvm.fma.v8f32(<8 x float> %299, <8 x float> %294, <8 x float> %299)
  %301 = fsub <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %300
  %302 = fcmp olt <8 x float> %266, <float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01, float 9.218750e-01>
  %303 = select <8 x i1> %302, <8 x float> %274, <8 x float> %301
  %304 = call <8 x float> @llvm.copysign.v8f32(<8 x float> %303, <8 x float> %265)
  %305 = fadd <8 x float> <float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00, float 1.000000e+00>, %304
  %306 = fmul <8 x float> %264, %305
  %307 = getelementptr float, ptr %39, i64 %tail6
  call void @llvm.masked.store.v8f32.p0(<8 x float> %306, ptr %307, i32 4, <8 x i1> %258)
  %308 = add i64 %tail6, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %309 = add i64 %34, 1
  %310 = icmp eq i64 %309, %30
  %311 = select i1 %310, i64 0, i64 %309
  %312 = zext i1 %310 to i64
  %313 = add i64 %33, %312
  %314 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %28, label %then7, label %endif8

then7:                                            ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif8

endif8:                                           ; preds = %task.end, %then7
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.fabs.v8f32(<8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.roundeven.v8f32(<8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare <8 x float> @llvm.copysign.v8f32(<8 x float>, <8 x float>) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
